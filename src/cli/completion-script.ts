/**
 * Completion scripts for shells. Each one runs `svc __complete` (see `complete.ts`) for candidates.
 */

/** Shells that have a completion script. */
export const shells = ["bash", "zsh", "fish", "powershell"] as const;

/** A shell that has a completion script. */
export type Shell = (typeof shells)[number];

const BASH = `# bash completion for svc: source <(svc completion bash)
_svc() {
  local program="\${COMP_WORDS[0]/#\\~/$HOME}" raw="\${COMP_WORDS[COMP_CWORD]}" word glue="" i line
  local -a words=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if [[ \${#words[@]} -gt 0 && (-n $glue || $word == [=:]) ]]; then
      words[\${#words[@]}-1]="\${words[\${#words[@]}-1]}$word"
    else
      words[\${#words[@]}]="$word"
    fi
    if [[ $word == [=:] ]]; then glue=1; else glue=""; fi
  done
  if [[ $raw == [=:] ]]; then raw=""; fi
  local current="\${words[\${#words[@]}-1]}"
  local prefix="\${current%"$raw"}"
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :none) ;;
      :files | :dirs)
        compopt -o filenames 2>/dev/null
        local kind=-f
        if [[ $line == :dirs ]]; then kind=-d; fi
        while IFS= read -r word; do COMPREPLY[\${#COMPREPLY[@]}]="$word"; done < <(compgen "$kind" -- "$raw")
        ;;
      *)
        line="\${line%%$'\\t'*}"
        COMPREPLY[\${#COMPREPLY[@]}]="\${line#"$prefix"}"
        ;;
    esac
  done < <("$program" __complete "\${words[@]}" 2>/dev/null)
}
complete -o nosort -F _svc svc 2>/dev/null || complete -F _svc svc
`;

const ZSH = `#compdef svc
# zsh completion for svc: source <(svc completion zsh), or save it as _svc in a folder of $fpath
_svc() {
  local -a lines values
  local line otherwise=":none"
  lines=("\${(@f)$("\${(Q)words[1]/#\\~/$HOME}" __complete "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "\${lines[@]}"; do
    if [[ $line == :* ]]; then
      otherwise="$line"
    elif [[ -n $line ]]; then
      values+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    fi
  done
  if (( \${#values} )); then _describe -V svc values; fi
  case "$otherwise" in
    :files) _files ;;
    :dirs) _files -/ ;;
  esac
}
if [[ \${funcstack[1]} == _svc ]]; then _svc "$@"; else compdef _svc svc; fi
`;

const FISH = `# fish completion for svc: svc completion fish | source
function __svc_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':none'
            case ':files'
                __fish_complete_path "$current"
            case ':dirs'
                __fish_complete_directories "$current"
            case '*'
                echo -- $line
        end
    end
end
complete -c svc -f -a '(__svc_complete)'
`;

const POWERSHELL = `# PowerShell completion for svc: svc completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName 'svc', 'svc.exe' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $elements = @($commandAst.CommandElements | Where-Object { $_.Extent.StartOffset -lt $cursorPosition })
    $program = $elements[0].ToString()
    $words = @($elements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
    if ($wordToComplete -eq '') { $words = @('--empty') + $words }
    & $program __complete @words 2>$null | ForEach-Object {
        if ($_ -eq ':files' -or $_ -eq ':dirs') {
            [System.Management.Automation.CompletionCompleters]::CompleteFilename($wordToComplete)
        } elseif ($_ -ne ':none') {
            $value, $meaning = $_ -split "\`t", 2
            if (-not $meaning) { $meaning = $value }
            [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $meaning)
        }
    }
}
`;

/** The script for a shell. */
export function completionScript(shell: Shell): string {
  return { bash: BASH, zsh: ZSH, fish: FISH, powershell: POWERSHELL }[shell];
}
