export const stagingPath = "/staging";
export const stagedPath = (id: string, version: string): string =>
  `${stagingPath}/${encodeURIComponent(id)}/${encodeURIComponent(version)}`;
