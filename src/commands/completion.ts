import { defineCommand } from "../cli/command.ts";
import { completionScript, type Shell, shells } from "../cli/completion-script.ts";
import { arg } from "../cli/flag.ts";
import { textView } from "../output/view.ts";

export default defineCommand({
  summary: "Print a completion script for a shell",
  category: "This tool",
  description: `To load completions in every session:

bash
  echo 'source <(svc completion bash)' >> ~/.bashrc
zsh
  echo 'source <(svc completion zsh)' >> ~/.zshrc
fish
  svc completion fish > ~/.config/fish/completions/svc.fish
powershell
  svc completion powershell | Out-String | Invoke-Expression`,
  examples: ["svc completion bash", "svc completion zsh"],
  args: { shell: arg("bash, zsh, fish or powershell", { values: shells }) },
  async run(_context, { shell }): Promise<{ shell: string; script: string }> {
    return { shell, script: completionScript(shell as Shell) };
  },
  view: textView<{ shell: string; script: string }>((data) => data.script),
});
