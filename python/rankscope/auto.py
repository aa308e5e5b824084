"""`import rankscope.auto` attaches the process to RANKSCOPE_ATTACH, where that is set; without it nothing happens."""
from .attach import attach_where_asked

attachment = attach_where_asked()
