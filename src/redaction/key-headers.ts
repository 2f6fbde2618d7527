/** Request headers whose value is the caller's key, named in lower case as Node names them. */
export const keyHeaders = ['authorization', 'x-api-key'] as const

/** Request headers that may hold the caller's key. A browser sends the key of a WebSocket as a subprotocol. */
export const mayHoldKey: ReadonlySet<string> = new Set([...keyHeaders, 'sec-websocket-protocol'])
