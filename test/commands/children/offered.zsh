# Prints what zsh offers for each of the unfinished lines $3 and later, with the script $1, in the folder $2. Completion
# works in an interactive shell only: this script starts one on a pseudo-terminal and has it read this same file, where a
# widget completes the line and compadd prints the words that match.
if [[ $3 != inside ]]; then
  zmodload zsh/zpty
  zpty shell zsh -f -i
  zpty -w shell "source ${(q)0:A} ${(q)1} ${(q)2} inside"
  zpty -r shell text '*can be asked*'
  for line in $argv[3,-1]; do
    zpty -w -n shell "$line"$'\C-T'
    zpty -r shell text '*has answered*'
    print -r -- "$text"
    zpty -w -n shell $'\C-U'
  done
  zpty -d shell
  exit
fi

autoload -U compinit
compinit -u -D
cd $2
source $1
compadd() {
  # Calls that only compute something for a function of the completion system.
  if [[ "${@[1,(i)(-|--)]}" == *-(O|A|D)\ * ]]; then
    builtin compadd "$@"
    return
  fi
  local -a fits
  builtin compadd -A fits "$@"
  (( $#fits )) && print -rl -- "offered "$^fits
  builtin compadd "$@"
}
offer() {
  _main_complete
  compstate[insert]= compstate[list]=
  print -r -- 'has answered'
}
zle -C offer complete-word offer
bindkey '^T' offer
print -r -- 'can be asked'
