/** The descriptors of the contract. */

import { type DescriptorFacts, descriptorFacts } from "./descriptor-facts.ts";

/** See `descriptorFacts`. */
export const descriptors: DescriptorFacts = await descriptorFacts();
