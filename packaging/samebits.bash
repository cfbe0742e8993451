# SPDX-License-Identifier: Apache-2.0
# Bash completion for samebits: verbs and options come from the program's own --help.
_samebits() {
  local word=${COMP_WORDS[COMP_CWORD]} verb=""
  [ "$COMP_CWORD" -gt 1 ] && verb=${COMP_WORDS[1]}
  case $verb:$word in
    :*) COMPREPLY=($(compgen -W "$("$1" --help 2>/dev/null | sed -n '/^Subcommands:/,$ s/^  \([a-z]*\) .*/\1/p')" -- "$word")) ;;
    *:-*) COMPREPLY=($(compgen -W "$("$1" "$verb" --help 2>/dev/null | grep -o -- '--[a-z0-9-]*')" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _samebits samebits
