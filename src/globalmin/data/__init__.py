"""Data: arrays and files in, preprocessed and exactly understood data sets out."""

from globalmin.data.dataset import Dataset as Dataset
from globalmin.data.dataset import RawPart as RawPart
from globalmin.data.preprocessing import SCALINGS as SCALINGS
from globalmin.data.preprocessing import Preprocessing as Preprocessing
from globalmin.data.validation import DataTypeError as DataTypeError
from globalmin.data.validation import gram_bytes as gram_bytes
from globalmin.data.validation import require_memory as require_memory
