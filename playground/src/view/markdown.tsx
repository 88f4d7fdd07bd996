import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { useMemo } from "preact/hooks";

const extensions = [gfm()];
const htmlExtensions = [gfmHtml()];

/**
 * Text of a model as HTML. micromark lets no HTML of the text through and drops
 * protocols such as javascript: unless it is told otherwise, and it is not.
 */
export function Markdown({ text }: { text: string }) {
  const html = useMemo(() => micromark(text, { extensions, htmlExtensions }), [text]);
  return <div class="markdown" dir="auto" dangerouslySetInnerHTML={{ __html: html }} onClick={outside} />;
}

/** Links lead out of the page, not the page away. */
function outside(event: MouseEvent): void {
  const link = (event.target as Element).closest("a[href]");
  if (!link || link.getAttribute("href")!.startsWith("#")) return;
  event.preventDefault();
  window.open((link as HTMLAnchorElement).href, "_blank", "noopener,noreferrer");
}
