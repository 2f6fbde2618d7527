import { startNode, stop } from './process.ts'

/** Rows of the speed table: calls of provider tools, against a bare WebSocket echo. */
export async function gatewayRows(): Promise<readonly string[][]> {
  const host = await startNode(['--expose-gc', new URL('gateway-host.ts', import.meta.url).pathname])
  await stop(host)
  const figures = JSON.parse(host.firstLine) as Record<
    'bareMicros' | 'gatewayMicros' | 'ratio' | 'bytesPerProvider',
    number
  >
  const { bareMicros, gatewayMicros, ratio, bytesPerProvider } = figures
  return [
    [
      'round trip of a provider’s tool, against a bare WebSocket echo',
      `${bareMicros.toFixed(1)} µs`,
      `${gatewayMicros.toFixed(1)} µs`,
      `${ratio.toFixed(2)} ×`,
      '≤ 2 ×',
    ],
    ['memory per idle provider, collected', '', `${(bytesPerProvider / 1e3).toFixed(0)} KB`, '', '≤ 100 KB'],
  ]
}
