/** @import { StreamEvent } from './event-parser.js' */
import { ApiError, send } from './api.js'
import { createEventParser } from './event-parser.js'

/** First and longest delay between two attempts. Ms. */
const firstDelayMs = 500
const longestDelayMs = 15_000
/** A connection without data for this time is lost: the daemon sends a heartbeat comment more often. Ms. */
const silentMs = 90_000

/**
 * @typedef {'connecting' | 'live' | 'lost'} ConnectionState
 */

/**
 * Reads `GET /events`, and resumes after the last event if the connection is lost.
 * @param {object} options
 * @param {(event: StreamEvent) => void} options.onEvent
 * @param {(state: ConnectionState) => void} options.onState
 * @param {(error: ApiError) => void} options.onRefused the daemon wants another key or has no workspace, so reading has ended
 * @returns {() => void} ends the reading
 */
export function followEvents({ onEvent, onState, onRefused }) {
  const stop = new AbortController()
  // Without an id, the stream begins now. The page reads earlier messages as history.
  let lastId = ''
  let delayMs = firstDelayMs
  /** Ends the wait for the next attempt. @type {(() => void) | undefined} */
  let wake

  async function readOnce() {
    const silence = new AbortController()
    let timer = setTimeout(() => silence.abort(), silentMs)
    try {
      const signal = AbortSignal.any([stop.signal, silence.signal])
      const { body } = await send('events', {
        signal,
        headers: { accept: 'text/event-stream', ...(lastId !== '' && { 'last-event-id': lastId }) },
      })
      if (body === null) return
      delayMs = firstDelayMs
      onState('live')
      const parser = createEventParser()
      const reader = body.pipeThrough(new TextDecoderStream()).getReader()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        clearTimeout(timer)
        timer = setTimeout(() => silence.abort(), silentMs)
        for (const event of parser.push(value)) onEvent(event)
        lastId = parser.lastId() || lastId
      }
    } finally {
      clearTimeout(timer)
    }
  }

  async function run() {
    onState('connecting')
    while (!stop.signal.aborted) {
      try {
        await readOnce()
      } catch (error) {
        if (stop.signal.aborted) return
        if (error instanceof ApiError && (error.status === 401 || error.status === 404)) {
          onRefused(error)
          return
        }
      }
      onState('lost')
      await new Promise((resolve) => {
        wake = () => resolve(undefined)
        // Random, so that several pages do not connect at the same time.
        setTimeout(resolve, delayMs * (0.75 + Math.random() / 2))
      })
      delayMs = Math.min(delayMs * 2, longestDelayMs)
    }
  }

  const onWake = () => {
    if (document.visibilityState === 'visible') wake?.()
  }
  document.addEventListener('visibilitychange', onWake)
  window.addEventListener('online', onWake)
  void run()
  return () => {
    document.removeEventListener('visibilitychange', onWake)
    window.removeEventListener('online', onWake)
    stop.abort()
    wake?.()
  }
}
