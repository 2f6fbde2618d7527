# fish completion for copilot-proxy. In ~/.config/fish/config.fish:
#   copilot-proxy completion fish | source
function __copilot_proxy_at
    set -l path
    set -l position 0
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case --
                return 1
            case --config --host --log-level --model
                set skip 1
            case '-*'
            case '*'
                set -l next (string trim -- "$path $word")
                if contains -- $next 'login' 'serve' 'key' 'key add' 'key help' 'completion' 'help'
                    set path $next
                    set position 0
                else
                    set position (math $position + 1)
                end
        end
    end
    test "$path" = "$argv[1]"; and begin
        test (count $argv) = 1; or test $position = $argv[2]
    end
end
complete -c copilot-proxy -f
complete -c copilot-proxy -n "__copilot_proxy_at '' 0" -a login -d 'connect an account; it\'s easy'
complete -c copilot-proxy -n "__copilot_proxy_at '' 0" -a serve -d 'answer requests'
complete -c copilot-proxy -n "__copilot_proxy_at '' 0" -a key -d 'keys'
complete -c copilot-proxy -n "__copilot_proxy_at '' 0" -a completion -d 'this'
complete -c copilot-proxy -n "__copilot_proxy_at '' 0" -a help -d 'show help'
complete -c copilot-proxy -n "__copilot_proxy_at ''" -l config -r -F -d 'read this [file]: "yours"'
complete -c copilot-proxy -n "__copilot_proxy_at ''" -l help -s h -d 'display help for command'
complete -c copilot-proxy -n "__copilot_proxy_at 'login' 0" -a 'copilot codex'
complete -c copilot-proxy -n "__copilot_proxy_at 'login'" -l host -x -d 'which host'
complete -c copilot-proxy -n "__copilot_proxy_at 'login'" -l help -s h -d 'display help for command'
complete -c copilot-proxy -n "__copilot_proxy_at 'login'" -l config -r -F -d 'read this [file]: "yours"'
complete -c copilot-proxy -n "__copilot_proxy_at 'serve'" -l log-level -x -a 'trace debug info warn error silent' -d 'how much'
complete -c copilot-proxy -n "__copilot_proxy_at 'serve'" -l follow -s f -d 'go on'
complete -c copilot-proxy -n "__copilot_proxy_at 'serve'" -l model -x -a '(copilot-proxy __complete models 2>/dev/null)' -d 'which model'
complete -c copilot-proxy -n "__copilot_proxy_at 'serve'" -l help -s h -d 'display help for command'
complete -c copilot-proxy -n "__copilot_proxy_at 'serve'" -l config -r -F -d 'read this [file]: "yours"'
complete -c copilot-proxy -n "__copilot_proxy_at 'key' 0" -a add -d 'make one'
complete -c copilot-proxy -n "__copilot_proxy_at 'key' 0" -a help -d 'show help'
complete -c copilot-proxy -n "__copilot_proxy_at 'key'" -l help -s h -d 'display help for command'
complete -c copilot-proxy -n "__copilot_proxy_at 'key'" -l config -r -F -d 'read this [file]: "yours"'
complete -c copilot-proxy -n "__copilot_proxy_at 'key add'" -l help -s h -d 'display help for command'
complete -c copilot-proxy -n "__copilot_proxy_at 'key add'" -l config -r -F -d 'read this [file]: "yours"'
complete -c copilot-proxy -n "__copilot_proxy_at 'completion' 0" -a 'bash zsh'
complete -c copilot-proxy -n "__copilot_proxy_at 'completion'" -l help -s h -d 'display help for command'
complete -c copilot-proxy -n "__copilot_proxy_at 'completion'" -l config -r -F -d 'read this [file]: "yours"'
complete -c copilot-proxy -n "__copilot_proxy_at 'help' 0" -a 'login serve key completion help'
