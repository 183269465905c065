import * as z from "zod";
import { pluginId } from "../contract/identifiers.ts";
import { isTargetName, type TargetName } from "../contract/target.ts";

/**
 * The names that become parts of paths, as the files below `.sealift` may hold them. These files may have been written
 * by another user, so a name is checked before it is used: it is one component, and not a hidden one.
 */
export const item = z.object({ section: z.enum(["plugins", "extensions"]), id: pluginId });

export const target = z.custom<TargetName>(isTargetName, "must be project-<id>, plugin-<slug> or service-<slug>");

export const releaseName = z.string().regex(/^[A-Za-z0-9+-][A-Za-z0-9._+-]{0,127}$/, "must be the name of a release");

export const deploymentId = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, "must be the id of a deployment");
