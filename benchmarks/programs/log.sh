line="so an error occured while reading"
if printf '%s\n' "$line" | grep -q "an error occured"; then echo "found"; fi
case "$line" in
  "so an error occured while reading") echo "case" ;;
esac
echo "The goverment answers after a while." >&2
