import { text } from "../cli/flag.ts";

/** The resource group that the resolvers of a job are called in. */
export const resourceGroupFlag = text("resource group in whose workers all resolvers are called (default: each in those of its own)", {
  placeholder: "<group>",
});
