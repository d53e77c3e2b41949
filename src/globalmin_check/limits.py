"""Every limit of the checker in one place. Beyond a limit of form: MALFORMED. Beyond a budget:
UNDECIDED.
"""

HEADER_BYTES = 2**20
FILE_BYTES = 2**30
CLAIMS = 64
TENSORS = 1024
ELEMENTS = 10**9
DEPTH = 8
RATIONAL_CHARACTERS = 2500
INTEGER_DIGITS = 18
PRODUCER_CHARACTERS = 100

PRECISIONS = (128, 256, 512, 1024)
# ball multiplications of a whole file at 128 bits; a multiplication at p bits counts p/128 times
WORK = 10**11
FIRST_BITS = 62  # integers of one machine word for the first attempt at a positive definite matrix
EXPONENT = 5000  # largest power of two by which a matrix is scaled
BALL_BYTES = 2**33
BYTES_PER_BALL = 80  # an arb (48 bytes), its Python object and the pointer to it
# one activation value with two derivatives costs about as much as this many ball multiplications
WORK_PER_VALUE = 1000
BALLS_PER_EXACT = 16  # memory of a kept exact number of up to 8,000 bits
WORK_PER_EXACT = 500  # one operation on exact numbers of up to 4,000 bits
# largest n k d for which the loss is recomputed in exact rationals when balls do not decide
EXACT_TERMS = 10**6
OUTPUTS = 4096  # outputs that share the neurons of a regularized network
GROUPS = 4096  # groups of columns that a regularized network may list
SHARDS, ROWS, NAME_CHARACTERS = 4096, 10**15, 200  # of a stream
SLABS = 64  # of the hidden bias, R4-free
EXACT_BITS = 2**15  # integers of one sum over the samples
CONES = 10**6  # cones of one search, R3
FAST_CONES = 10**7  # the same in floats
ROW_BITS, RAY_BITS = 600, 300  # of the integers of that search, so that floats can follow it
DENSE_PARAMETERS = 400  # largest number of parameters for which a whole Hessian is formed
STRIP = 512  # rows per block of a matrix product: below this size a product is done whole
STRIP_BALLS = 2**20  # balls of one strip of a deep network's windows or of its Jacobian

SECONDS = 900  # default limits of the command line
GIBIBYTES = 8
