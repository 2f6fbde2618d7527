import type { FastifyReply } from 'fastify'

/** What the hooks set on Fastify's reply, for a head that is written past it. */
export function flatHeaders(reply: FastifyReply): Record<string, string> {
  const flat: Record<string, string> = {}
  const headers = reply.getHeaders()
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) flat[name] = String(value)
  }
  return flat
}
