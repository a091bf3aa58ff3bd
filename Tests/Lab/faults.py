"""All faults, in the order in which the lab has them: those before change nothing that later ones need."""

from database_faults import DATABASE_FAULTS
from edge_faults import EDGE_FAULTS
from key_faults import KEY_FAULTS
from message_faults import MESSAGE_FAULTS
from node_faults import NODE_FAULTS
from pin_faults import PIN_FAULTS

FAULTS = [*NODE_FAULTS, *DATABASE_FAULTS, *EDGE_FAULTS, *MESSAGE_FAULTS, *PIN_FAULTS, *KEY_FAULTS]
