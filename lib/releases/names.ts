import * as z from "zod";
import { APPLICATIONS_FOLDER } from "../contract/files/application-names.ts";
import { dataFolder } from "../contract/files/application-paths.ts";
import { pluginId } from "../contract/identifiers.ts";
import { later } from "../contract/later.ts";
import { isTargetName, type TargetName } from "../contract/target.ts";
import { isApplication, type Item, SECTIONS } from "./layout.ts";

/**
 * Schemas of names that become parts of paths in the files below `.sealift`. Another user may have written these files,
 * so a name must be one component, and not hidden.
 */
export const item = later(() => z.object({ section: z.enum(SECTIONS), id: pluginId, data: dataFolder.optional() }));

/** Application in a release's own record, beside its `items`. */
export const application = later(() => item.omit({ section: true }));

const APPLICATION_UNIT = new RegExp(`^${APPLICATIONS_FOLDER}/`);

/** Schema of {@link unitKey}. */
export const unit = later(() =>
  z.union([
    pluginId,
    z
      .string()
      .refine((key) => APPLICATION_UNIT.test(key) && pluginId.safeParse(key.replace(APPLICATION_UNIT, "")).success),
  ]),
);

/** Returns the key of an item in journals, events and reports: `apps/web` for an application, else its id. */
export const unitKey = (item: Pick<Item, "section" | "id">): string =>
  isApplication(item) ? `${APPLICATIONS_FOLDER}/${item.id}` : item.id;

/** Returns the item that a key stands for: an application, or a plugin. */
export const itemOfUnit = (key: string): Item =>
  APPLICATION_UNIT.test(key)
    ? { section: APPLICATIONS_FOLDER, id: key.replace(APPLICATION_UNIT, "") }
    : { section: "plugins", id: key };

export const target = later(() =>
  z.custom<TargetName>(isTargetName, "must be project-<id>, plugin-<slug> or service-<slug>"),
);

export const releaseName = later(() =>
  z.string().regex(/^[A-Za-z0-9+-][A-Za-z0-9._+-]{0,127}$/, "must be the name of a release"),
);

export const deploymentId = later(() => z.string().regex(/^[A-Za-z0-9-]{1,64}$/, "must be the id of a deployment"));
