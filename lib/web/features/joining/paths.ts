/** Returns the address of the hosts that have joined a project. */
export const hostsPath = (project: string): string => `/projects/${encodeURIComponent(project)}/hosts`;
