import * as z from "zod";
import { pluginId } from "../contract/identifiers.ts";
import { isTargetName, type TargetName } from "../contract/target.ts";

/**
 * Schemas of names that become parts of paths in the files below `.sealift`. Another user may have written these files,
 * so a name must be one component, and not hidden.
 */
export const item = z.object({ section: z.enum(["plugins", "extensions"]), id: pluginId });

export const target = z.custom<TargetName>(isTargetName, "must be project-<id>, plugin-<slug> or service-<slug>");

export const releaseName = z.string().regex(/^[A-Za-z0-9+-][A-Za-z0-9._+-]{0,127}$/, "must be the name of a release");

export const deploymentId = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, "must be the id of a deployment");
