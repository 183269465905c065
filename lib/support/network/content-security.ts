/** Content security policies of everything that Sealift serves to browsers, one for each kind of page. */

/** Policy of the hub's pages: content from their own origin only, and no framing by other sites. */
export const HUB_PAGE_POLICY = [
  "default-src 'none'",
  ...["script-src", "style-src", "img-src", "connect-src", "form-action"].map((each) => `${each} 'self'`),
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ");

/** Policy of pages of a sandboxed plugin: with an origin of their own they cannot act as pages of the runtime. */
export const PLUGIN_PAGE_POLICY = "sandbox allow-scripts allow-forms allow-popups allow-downloads";

/**
 * Returns the policy of the runtime's `/docs`: its own script and style, requests to its own origin, nothing else.
 *
 * @param scriptHash source expression of the inline script, such as `'sha256-…'`
 * @param styleHash source expression of the inline style
 */
export const docsPagePolicy = (scriptHash: string, styleHash: string): string =>
  [
    "default-src 'none'",
    "connect-src 'self'",
    `script-src ${scriptHash}`,
    `style-src ${styleHash}`,
    // Browsers ask for /favicon.ico unless the page names an empty icon.
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
