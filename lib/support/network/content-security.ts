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
