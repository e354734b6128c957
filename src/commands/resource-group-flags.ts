import { text } from "../cli/flag.ts";
import { UsageError } from "../errors/cli-error.ts";

/** A resource group that a job is submitted to; `otherwise` says which it is when none is given. */
export const resourceGroupFlag = (otherwise = "each in those of its own") =>
  text(`resource group in whose workers all resolvers are called (default: ${otherwise})`, { placeholder: "<group>" });

/** Throws UsageError for a group without a name. */
export function checkResourceGroup(group: string | undefined): void {
  if (group === "") throw new UsageError("--resource-group is the name of a group");
}
