import type { InstallPlan } from "./install-plan.ts";

/** Folder of a project that holds its applications, one folder each. */
export const APPLICATIONS_FOLDER = "apps";

/** Descriptor of an application, in its folder. */
export const APPLICATION_FILE = "app.yaml";

/** File of the operator in a project root: which applications may run there, and how. */
export const APPLICATIONS_FILE = "applications.yaml";

/** Folder of the host in an application's folder, for what it makes of the descriptor. */
export const HOST_FOLDER = ".sealift";

/** Program there that starts the application; the next one migrates its data. */
export const START = "start";
export const MIGRATE = "migrate";
/** Program there that runs a job once. No unit of a program that runs all the time starts it. */
export const RUN = "run";
/** Program there that tells by its exit code whether the application works. */
export const CHECK = "check";

/** Folder of a project root with an empty file for each application that an operator has stopped. */
export const STOPPED_FOLDER = ".sealift/state/stopped";

/** Template in an application's folder for its settings on a host. */
export const SETTINGS_TEMPLATE = ".env.template";

/** Returns the applications that a plan installs. */
export const applicationsOf = ({ steps }: Pick<InstallPlan, "steps">): string[] => [
  ...new Set(steps.flatMap((step) => (step.action === "install_app" ? [step.app] : []))),
];
