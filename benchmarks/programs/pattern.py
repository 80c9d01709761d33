import re
import sys

HANDLERS = {"we recieve it": len, "the other one": str.upper}
LOG = "note: an error occured while reading"

if re.search(r"an error occured while (\w+)", LOG):
    print("found", HANDLERS["we recieve it"]("four"))
print("The goverment answers after a while.", file=sys.stderr)
