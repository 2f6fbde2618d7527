/** A failed request, with the message of the daemon. */
export class ApiError extends Error {
  /**
   * @param {number} status 0 without an answer
   * @param {string} code
   * @param {string} message
   */
  constructor(status, code, message) {
    super(message)
    this.status = status
    this.code = code
  }
}

const storedKey = 'copilot-proxy key'

/** The key is kept until the tab closes. Requests send it in a header and never in a URL. */
export const key = {
  get: () => sessionStorage.getItem(storedKey) ?? '',
  /** @param {string} value */
  set: (value) => sessionStorage.setItem(storedKey, value),
  forget: () => sessionStorage.removeItem(storedKey),
}

/**
 * @param {string} path without a leading slash, because a proxy may serve the page below a prefix
 * @param {RequestInit} [options]
 * @returns {Promise<Response>} a successful response
 * @throws {ApiError}
 */
export async function send(path, options = {}) {
  const headers = new Headers(options.headers)
  const value = key.get()
  if (value !== '') headers.set('authorization', `Bearer ${value}`)
  let response
  try {
    response = await fetch(path, { ...options, headers, credentials: 'omit', cache: 'no-store' })
  } catch (error) {
    if (options.signal?.aborted === true) throw error
    throw new ApiError(0, 'unreachable', 'copilot-proxy does not answer.')
  }
  if (response.ok) return response
  throw await toError(response)
}

/**
 * @template Answer
 * @param {string} path
 * @param {{ method?: string, body?: object, signal?: AbortSignal }} [options]
 * @returns {Promise<Answer>} null if the answer is empty
 * @throws {ApiError}
 */
export async function ask(path, { method = 'GET', body, signal } = {}) {
  const response = await send(path, {
    method,
    ...(signal !== undefined && { signal }),
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
  return JSON.parse((await response.text()) || 'null')
}

/** @param {Response} response */
async function toError(response) {
  const { status } = response
  const { error } = await response.json().catch(() => ({ error: undefined }))
  const message = typeof error?.message === 'string' ? error.message : `copilot-proxy answered with status ${status}.`
  return new ApiError(status, typeof error?.code === 'string' ? error.code : '', message)
}
