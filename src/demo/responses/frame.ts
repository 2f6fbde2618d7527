/** An event of `/responses`: named twice, numbered, never `[DONE]`. */
export function eventFrame(type: string, sequence: number, fields: Readonly<Record<string, unknown>>): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence, ...fields })}\n\n`
}
