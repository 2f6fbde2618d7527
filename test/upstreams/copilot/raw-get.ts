import { request } from 'node:http'

/** A GET with headers that `fetch` does not allow: `host`, repeated ones. */
export function get(
  url: string,
  headers: Readonly<Record<string, string | readonly string[]>>,
): Promise<{ status: number; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>()
  const sent = request(url, { agent: false }, (response) => {
    let body = ''
    response.setEncoding('utf8')
    response.on('data', (text: string) => {
      body += text
    })
    response.on('end', () => {
      resolve({ status: response.statusCode ?? 0, body })
    })
  })
  for (const [name, value] of Object.entries(headers)) sent.setHeader(name, value)
  sent.on('error', reject)
  sent.end()
  return promise
}
