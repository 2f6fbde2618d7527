/**
 * The address that opens the page with a one-time code. The code is in the fragment, which a browser sends to no server and
 * puts into no Referer; the page removes it from the address bar.
 */
export function pageAddress(url: string, code: string): string {
  return `${url}/#code=${code}`
}
