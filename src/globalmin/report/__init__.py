"""The report: reads results (`fit.json`, certificate files through the checker) and draws one page.
It never trains.
"""
