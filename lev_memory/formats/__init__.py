"""Files of translations. To add a format: a :class:`.units.BilingualFile` and its ending in
:data:`.files.READERS`. A document whose source stands in files of its own (:mod:`.markdown`) is
made by the command.
"""
