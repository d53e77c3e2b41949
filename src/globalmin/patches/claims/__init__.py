"""The claims about patch networks: as they are, and as the dense networks of their patches."""
