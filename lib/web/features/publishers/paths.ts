export const publishersPath = "/publishers";
export const publisherPath = (id: string): string => `${publishersPath}/${encodeURIComponent(id)}`;
