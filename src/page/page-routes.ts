import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/**
 * Allows scripts, styles and requests of this origin only. With `require-trusted-types-for`, the browser refuses to parse
 * strings as HTML, so a defect of the page cannot turn a text of a model into markup.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const headers = {
  'content-security-policy': policy,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // The browser must revalidate its copy each time, because a new version of the program has a new page.
  'cache-control': 'no-cache',
  vary: 'Origin, Accept',
}

/**
 * Registers `GET /page/{name}`: scripts and styles of the page. Like the page itself, they need no key: they contain no data, and
 * a browser cannot send a key with them.
 */
export function registerPageFiles(app: FastifyInstance): void {
  app.get('/page/:name', { config: { public: true, always: true } }, (request: FileRequest, reply) =>
    sendPageFile(request, reply, request.params.name),
  )
}

/**
 * Sends the page to a browser; undefined for a program. Browsers name `text/html` in the Accept of what a person opens, and
 * programs do not.
 */
export function sendPage(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> | undefined {
  void reply.header('vary', 'Accept')
  if (!/\btext\/html\b/i.test(request.headers.accept ?? '')) return undefined
  return sendPageFile(request, reply, 'index.html')
}

type FileRequest = FastifyRequest<{ Params: { name: string } }>

/** Sends a file of the page, or 304 if the browser has it. The first call reads the files. */
export async function sendPageFile(request: FastifyRequest, reply: FastifyReply, name: string): Promise<FastifyReply> {
  const { pageFiles } = await import('./page-files.ts')
  const file = pageFiles.get(name)
  if (file === undefined) {
    reply.callNotFound()
    return reply
  }
  reply.headers(headers).header('etag', file.etag)
  if (isKnown(request.headers['if-none-match'], file.etag)) return reply.code(304).send()
  return reply.type(file.type).send(file.bytes)
}

/** If-None-Match is a list of entity tags, which a proxy may have changed to weak ones (RFC 9110 §13.1.2). */
function isKnown(tags: string | undefined, etag: string): boolean {
  return (tags ?? '').split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}
