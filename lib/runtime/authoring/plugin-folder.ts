import { join } from "node:path";
import type * as z from "zod";
import { usageError } from "../../contract/errors.ts";
import { DESCRIPTOR_FILE } from "../../contract/files/manifest.ts";
import { readYamlFile } from "../../support/yaml-file.ts";

/** Reads the descriptor of a plugin under development. @throws UsageError `usage` with every fault */
export const readAuthored = <T extends z.ZodType>(folder: string, schema: T): Promise<z.output<T>> =>
  readYamlFile(join(folder, DESCRIPTOR_FILE), schema, (message, faults) =>
    usageError("usage", message, {
      faults,
      hint: "`sealift plugin init NAME` writes a plugin that works; `sealift docs sdk` explains its descriptor.",
    }),
  );
