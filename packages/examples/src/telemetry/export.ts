/**
 * Sends the spans, metrics and logs of a program to an OTLP collector, which the standard variables of OpenTelemetry
 * name. Without them, nothing is sent.
 */
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Otlp from "effect/observability/Otlp"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"

/** Samples traces: the span that begins a trace decides for all spans of the trace, those of other processes too. */
const sampled = (ratio: number) =>
  Layer.effect(
    Tracer.Tracer,
    Effect.map(Tracer.Tracer, (tracer) =>
      Tracer.make({
        ...tracer,
        span: (options) =>
          tracer.span(
            Option.isNone(options.parent) ? { ...options, sampled: options.sampled && Math.random() < ratio } : options
          )
      }))
  )

/** Exports the telemetry of a service, with this ratio of its traces. */
export const layer = (serviceName: string, ratio = 1) =>
  sampled(ratio).pipe(
    Layer.provideMerge(Otlp.layerFromConfig({ resource: { serviceName, serviceVersion: "1.0.0" } })),
    Layer.provide(OtlpSerialization.layerJson),
    Layer.provide(FetchHttpClient.layer)
  )
