"""The kinds of option values, which read text (the command line) and accept Python values by the same rules.

Numbers are written in decimal with the digits 0 to 9; nan, inf, ``1_000``, digits of other scripts and
numbers that float64 cannot hold are refused.
"""

from svmfast.values.base import MOST as MOST
from svmfast.values.base import MOST_64 as MOST_64
from svmfast.values.base import Value as Value
from svmfast.values.base import read_decimal as read_decimal
from svmfast.values.files import URI as URI
from svmfast.values.files import InputFile as InputFile
from svmfast.values.files import ModelFile as ModelFile
from svmfast.values.files import OutputFile as OutputFile
from svmfast.values.files import RowsFile as RowsFile
from svmfast.values.files import ScalingFile as ScalingFile
from svmfast.values.files import check_address as check_address
from svmfast.values.files import in_this_folder as in_this_folder
from svmfast.values.files import is_path as is_path
from svmfast.values.files import is_uri as is_uri
from svmfast.values.files import without_query as without_query
from svmfast.values.numbers import Bytes as Bytes
from svmfast.values.numbers import Grid as Grid
from svmfast.values.numbers import OneOrGrid as OneOrGrid
from svmfast.values.numbers import Pair as Pair
from svmfast.values.numbers import Real as Real
from svmfast.values.numbers import Share as Share
from svmfast.values.numbers import Whole as Whole
from svmfast.values.numbers import WholeOr as WholeOr
from svmfast.values.numbers import percentage as percentage
from svmfast.values.words import BALANCED as BALANCED
from svmfast.values.words import Choice as Choice
from svmfast.values.words import Names as Names
from svmfast.values.words import Numbered as Numbered
from svmfast.values.words import OnOff as OnOff
from svmfast.values.words import Switch as Switch
from svmfast.values.words import Text as Text
from svmfast.values.words import Weights as Weights
