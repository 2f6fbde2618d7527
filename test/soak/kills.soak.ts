import { test } from 'vitest'
import { killWriters } from '../workspace/patch/kill-writers.ts'

test('G20: leaves every file whole, and all old or all new, when killed 200 times', () => killWriters(200))
