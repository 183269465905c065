export const webhooksPath = "/webhooks";
export const webhookPath = (id: string): string => `${webhooksPath}/${encodeURIComponent(id)}`;
