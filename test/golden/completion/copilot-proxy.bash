# bash completion for copilot-proxy. In ~/.bashrc:
#   source <(copilot-proxy completion bash)
_copilot_proxy() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
  local path="" position=0 at=1 words="" IFS=$' \t\n'
  COMPREPLY=()
  if [ "$current" = "=" ]; then
    current=""
  elif [ "$previous" = "=" ]; then
    previous="${COMP_WORDS[COMP_CWORD-2]}"
  fi
  while [ "$at" -lt "$COMP_CWORD" ]; do
    case "${COMP_WORDS[at]}" in
      --) return 0 ;;
      --config|--host|--log-level|--model)
        # Bash takes "--option=value" for three words.
        if [ "${COMP_WORDS[at+1]}" = "=" ]; then at=$((at + 1)); fi
        at=$((at + 1))
        ;;
      -*) ;;
      *)
        case "$path ${COMP_WORDS[at]}" in
          " login") path="$path ${COMP_WORDS[at]}"; position=0 ;;
          " serve") path="$path ${COMP_WORDS[at]}"; position=0 ;;
          " key") path="$path ${COMP_WORDS[at]}"; position=0 ;;
          " key add") path="$path ${COMP_WORDS[at]}"; position=0 ;;
          " key help") path="$path ${COMP_WORDS[at]}"; position=0 ;;
          " completion") path="$path ${COMP_WORDS[at]}"; position=0 ;;
          " help") path="$path ${COMP_WORDS[at]}"; position=0 ;;
          *) position=$((position + 1)) ;;
        esac
        ;;
    esac
    at=$((at + 1))
  done
  case "$path $previous" in
    " --config") compopt -o default 2>/dev/null || { IFS=$'\n'; COMPREPLY=($(compgen -f -- "$current")); }; return 0 ;;
    " login --host") return 0 ;;
    " login --config") compopt -o default 2>/dev/null || { IFS=$'\n'; COMPREPLY=($(compgen -f -- "$current")); }; return 0 ;;
    " serve --log-level") COMPREPLY=($(compgen -W "trace debug info warn error silent" -- "$current")); return 0 ;;
    " serve --model") COMPREPLY=($(compgen -W "$(copilot-proxy __complete models 2>/dev/null)" -- "$current")); return 0 ;;
    " serve --config") compopt -o default 2>/dev/null || { IFS=$'\n'; COMPREPLY=($(compgen -f -- "$current")); }; return 0 ;;
    " key --config") compopt -o default 2>/dev/null || { IFS=$'\n'; COMPREPLY=($(compgen -f -- "$current")); }; return 0 ;;
    " key add --config") compopt -o default 2>/dev/null || { IFS=$'\n'; COMPREPLY=($(compgen -f -- "$current")); }; return 0 ;;
    " completion --config") compopt -o default 2>/dev/null || { IFS=$'\n'; COMPREPLY=($(compgen -f -- "$current")); }; return 0 ;;
  esac
  case "$current" in
    -*)
      case "$path" in
        "") words="--config --help -h" ;;
        " login") words="--host --help -h --config" ;;
        " serve") words="--log-level --follow -f --model --help -h --config" ;;
        " key") words="--help -h --config" ;;
        " key add") words="--help -h --config" ;;
        " key help") words="" ;;
        " completion") words="--help -h --config" ;;
        " help") words="" ;;
      esac
      ;;
    *)
      case "$path $position" in
        " 0") words="login serve key completion help" ;;
        " login 0") words="copilot codex" ;;
        " key 0") words="add help" ;;
        " completion 0") words="bash zsh" ;;
        " help 0") words="login serve key completion help" ;;
      esac
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _copilot_proxy copilot-proxy
