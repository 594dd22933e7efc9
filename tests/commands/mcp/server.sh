# An MCP server for tests, of the version before the newest. What it does depends on the tool that is called.
marker=$1
printf x 2>/dev/null > "started-$marker"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
say() { answer "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
tool() { printf '{"name":"%s","description":"%s","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}},"annotations":{"readOnlyHint":true}}' "$1" "$2"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | grep -o '"id":[0-9]*' | head -n 1 | cut -d: -f2)
  case $line in
    *'"method":"initialize"'*)
      answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"post","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      look=$(cat description.txt 2>/dev/null || printf 'Looks at a file.')
      answer "{\"tools\":[$(tool look "$look"),$(tool put 'Writes a file.'),$(tool hang 'Hangs.'),$(tool die 'Dies.'),$(tool garbage 'Says nothing that makes sense.'),$(tool huge 'Says too much.'),$(tool env 'Says what it was given.')]}" ;;
    *'"method":"tools/call"'*)
      path=$(printf '%s' "$line" | grep -o '"path":"[^"]*"' | head -n 1 | cut -d'"' -f4)
      case $line in
        *'"name":"look"'*) say "$(cat "$path" 2>/dev/null | head -n 1 || printf 'nothing')" ;;
        *'"name":"put"'*) if printf x 2>/dev/null > "$path"; then say written; else say 'not written'; fi ;;
        *'"name":"env"'*) say "$POST_TOKEN-$HOME_TOKEN" ;;
        *'"name":"hang"'*) ;;
        *'"name":"die"'*) echo 'out of ink' >&2; exit 3 ;;
        *'"name":"garbage"'*) i=0; while [ $i -lt 200 ]; do echo 'ink ink ink'; i=$((i+1)); done ;;
        *'"name":"huge"'*) head -c 9000000 /dev/zero | tr '\0' x ;;
      esac ;;
    *'"method":"notifications/'*) ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id" ;;
  esac
done
