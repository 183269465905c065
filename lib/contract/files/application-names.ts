/** Folder of a project that holds its applications, one folder each. */
export const APPLICATIONS_FOLDER = "apps";

/** Descriptor of an application, in its folder. */
export const APPLICATION_FILE = "app.yaml";

/** Folder of the host in an application's folder, for what it makes of the descriptor. */
export const HOST_FOLDER = ".sealift";

/** Template in an application's folder for its settings on a host. */
export const SETTINGS_TEMPLATE = ".env.template";
