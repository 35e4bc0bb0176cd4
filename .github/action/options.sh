# The options before the command, in the array `options`. Read by run.sh and summary.sh.
case "$STORE" in
  *://*) options=(--store "$STORE") ;;
  /*) options=(--store "sqlite:///$STORE") ;;
  *) options=(--store "sqlite:///$PWD/$STORE") ;;
esac
if [ -n "$CONFIG" ]; then
  options+=(--config "$CONFIG")
fi
