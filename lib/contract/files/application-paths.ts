import { pathBelow } from "../identifiers.ts";
import { HOST_FOLDER } from "./application-names.ts";

/** Folder of an application for data, by its plain path: no link of the host can lead elsewhere. */
export const dataFolder = pathBelow("must be a path inside the application's folder").refine(
  (path) => path.split("/").every((name) => name !== "" && name !== "." && name !== HOST_FOLDER),
  `must be a plain path such as storage or var/data, without . and ${HOST_FOLDER}`,
);
