import { hash } from 'node:crypto'
import { extname } from 'node:path'
import { pageSources } from './page-sources.ts'

export interface PageFile {
  readonly bytes: Buffer
  /** The Content-Type. */
  readonly type: string
  /** The quoted entity tag of the content. */
  readonly etag: string
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The files of the page by name. Omits files whose extension has no type above. */
export const pageFiles: ReadonlyMap<string, PageFile> = new Map(
  [...pageSources].flatMap(([name, text]) => {
    const type = types[extname(name)]
    if (type === undefined) return []
    return [[name, { bytes: Buffer.from(text), type, etag: `"${hash('sha256', text, 'base64url').slice(0, 22)}"` }]]
  }),
)
