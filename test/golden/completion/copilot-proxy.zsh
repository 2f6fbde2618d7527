#compdef copilot-proxy
# zsh completion for copilot-proxy. In ~/.zshrc, after compinit:
#   source <(copilot-proxy completion zsh)
_copilot-proxy-values() {
  local -a values
  values=(${(f)"$(copilot-proxy __complete $@[-1] 2>/dev/null)"})
  compadd "${(@)@[1,-2]}" -a values
}

_copilot-proxy() {
  local curcontext="$curcontext" state line
  local -a commands
  _arguments -C -s \
    '--config=[read this \[file\]\: "yours"]: :_files' \
    '(--help -h)--help[display help for command]' \
    '(--help -h)-h[display help for command]' \
    '1: :->command' \
    '*:: :->rest' && return 0
  case "$state" in
    command)
      commands=(
        'login:connect an account; it'\''s easy'
        'serve:answer requests'
        'key:keys'
        'completion:this'
        'help:show help'
      )
      _describe -t commands command commands
      ;;
    rest)
      case "$line[1]" in
        login) _copilot-proxy-login ;;
        serve) _copilot-proxy-serve ;;
        key) _copilot-proxy-key ;;
        completion) _copilot-proxy-completion ;;
        help) _copilot-proxy-help ;;
      esac
      ;;
  esac
}

_copilot-proxy-login() {
  _arguments -s -S \
    '--host=[which host]: :' \
    '(--help -h)--help[display help for command]' \
    '(--help -h)-h[display help for command]' \
    '--config=[read this \[file\]\: "yours"]: :_files' \
    '1: :(copilot codex)' \
    && return 0
}

_copilot-proxy-serve() {
  _arguments -s -S \
    '--log-level=[how much]: :(trace debug info warn error silent)' \
    '(--follow -f)--follow[go on]' \
    '(--follow -f)-f[go on]' \
    '--model=[which model]: :_copilot-proxy-values models' \
    '(--help -h)--help[display help for command]' \
    '(--help -h)-h[display help for command]' \
    '--config=[read this \[file\]\: "yours"]: :_files' \
    && return 0
}

_copilot-proxy-key() {
  local curcontext="$curcontext" state line
  local -a commands
  _arguments -C -s \
    '(--help -h)--help[display help for command]' \
    '(--help -h)-h[display help for command]' \
    '--config=[read this \[file\]\: "yours"]: :_files' \
    '1: :->command' \
    '*:: :->rest' && return 0
  case "$state" in
    command)
      commands=(
        'add:make one'
        'help:show help'
      )
      _describe -t commands command commands
      ;;
    rest)
      case "$line[1]" in
        add) _copilot-proxy-key-add ;;
        help) _copilot-proxy-key-help ;;
      esac
      ;;
  esac
}

_copilot-proxy-key-add() {
  _arguments -s -S \
    '(--help -h)--help[display help for command]' \
    '(--help -h)-h[display help for command]' \
    '--config=[read this \[file\]\: "yours"]: :_files' \
    '1: :' \
    && return 0
}

_copilot-proxy-key-help() {
  _arguments -s -S \
    '1: :' \
    && return 0
}

_copilot-proxy-completion() {
  _arguments -s -S \
    '(--help -h)--help[display help for command]' \
    '(--help -h)-h[display help for command]' \
    '--config=[read this \[file\]\: "yours"]: :_files' \
    '1: :(bash zsh)' \
    && return 0
}

_copilot-proxy-help() {
  _arguments -s -S \
    '1: :(login serve key completion help)' \
    && return 0
}

if [ "$funcstack[1]" = "_copilot-proxy" ]; then
  _copilot-proxy "$@"
else
  compdef _copilot-proxy copilot-proxy
fi
