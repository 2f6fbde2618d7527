/**
 * Claude Code's first line of system text, which differs with every request: it is for Anthropic's accounting, and at the
 * head of a prompt it defeats the prompt cache. Source: Claude Code documentation, LLM gateways, 2026-11.
 */
const BILLING_LINE = 'x-anthropic-billing-header:'

export function hasBillingLine(text: string): boolean {
  return text.startsWith(BILLING_LINE)
}

export function withoutBillingLine(text: string): string {
  if (!hasBillingLine(text)) return text
  const lineEnd = text.indexOf('\n')
  return lineEnd === -1 ? '' : text.slice(lineEnd + 1)
}
