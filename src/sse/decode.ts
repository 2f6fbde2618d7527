/** One server-sent event. `event` is '' when the stream named none. */
export interface SseEvent {
  readonly event: string
  readonly data: string
}
