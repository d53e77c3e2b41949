"""Data: arrays and files in, preprocessed and exactly understood data sets out."""

from globalmin.data.dataset import Dataset as Dataset
from globalmin.data.dataset import RawPart as RawPart
from globalmin.data.memory import gram_bytes as gram_bytes
from globalmin.data.memory import require_memory as require_memory
from globalmin.data.preprocessing import SCALINGS as SCALINGS
from globalmin.data.preprocessing import Preprocessing as Preprocessing
from globalmin.data.validation import DataTypeError as DataTypeError
