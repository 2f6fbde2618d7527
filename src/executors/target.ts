/** A base URL taken apart once, not with every request. */
export interface Target {
  readonly baseUrl: string
  readonly origin: string
  /** The base URL's own path, '' for none. */
  readonly prefix: string
}

export function toTarget(baseUrl: string): Target {
  const { origin, pathname } = new URL(baseUrl)
  return { baseUrl, origin, prefix: pathname.replace(/\/+$/, '') }
}
