{{/*
The chart's objects are those of manifests/, read as they are, with the values put in. A list of the root and the object is what most of
these templates take; they change the object in place.
*/}}

{{/* The section of the values for each workload, by its name. */}}
{{- define "pinledger.sections" -}}
pinledger: servers
pinledger-reader: readers
pinledger-edge: edges
pinledger-migrate: migration
pinledger-fsck: fsck
{{- end }}

{{/* The directories of manifests that the values ask for. */}}
{{- define "pinledger.parts" -}}
{{- $values := .Values }}
{{- $parts := list "common" }}
{{- if or $values.servers.enabled $values.readers.enabled $values.migration.enabled $values.fsck.enabled }}
{{- $parts = append $parts "servers" }}
{{- end }}
{{- if $values.edges.enabled }}
{{- $parts = append $parts "edge" }}
{{- end }}
{{- if or $values.monitoring.podMonitors.enabled $values.monitoring.rules.enabled }}
{{- $parts = append $parts "monitoring" }}
{{- end }}
{{- toJson $parts }}
{{- end }}

{{/* Every object that the values ask for, with the values put in. */}}
{{- define "pinledger.objects" -}}
{{- $root := . }}
{{- $objects := list }}
{{- range $part := include "pinledger.parts" . | fromJsonArray }}
{{- range $file := (printf "manifests/%s/kustomization.yaml" $part | $root.Files.Get | fromYaml).resources }}
{{- range $text := regexSplit "(?m)^---$" (printf "manifests/%s/%s" $part $file | $root.Files.Get) -1 }}
{{- $object := fromYaml $text }}
{{- if include "pinledger.isWanted" (list $root $object) }}
{{- include "pinledger.adjust" (list $root $object) }}
{{- $objects = append $objects $object }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $objects }}
{{- end }}

{{/* Says "yes" of an object that the values ask for. The namespace is Helm's. */}}
{{- define "pinledger.isWanted" -}}
{{- $values := (index . 0).Values }}
{{- $object := index . 1 }}
{{- $name := $object.metadata.name }}
{{- $wanted := true }}
{{- if eq $object.kind "Namespace" }}
{{- $wanted = false }}
{{- else if eq $object.kind "NetworkPolicy" }}
{{- $wanted = $values.networkPolicies.enabled }}
{{- else if eq $object.kind "PrometheusRule" }}
{{- $wanted = $values.monitoring.rules.enabled }}
{{- else if and (eq $object.kind "PodMonitor") (not $values.monitoring.podMonitors.enabled) }}
{{- $wanted = false }}
{{- else if or (eq $object.kind "PodMonitor" ) (eq $name "pinledger-documents") }}
{{- /* For servers and read-only nodes together, but the one of edges. */}}
{{- $wanted = ternary $values.edges.enabled (or $values.servers.enabled $values.readers.enabled) (eq $name "pinledger-edge") }}
{{- else }}
{{- $section := include "pinledger.section" . | fromJson }}
{{- $wanted = and $section.enabled (or (ne $object.kind "PodDisruptionBudget") $section.disruptionBudget.enabled) }}
{{- end }}
{{- ternary "yes" "" $wanted }}
{{- end }}

{{/* The values for an object: the section of the workload that its label names, over those for all pods. */}}
{{- define "pinledger.section" -}}
{{- $values := (index . 0).Values }}
{{- $name := index (index . 1).metadata.labels "app.kubernetes.io/name" }}
{{- $section := deepCopy $values.pods }}
{{- range $key, $value := index $values (index (include "pinledger.sections" . | fromYaml) $name) }}
{{- if and (kindIs "map" $value) (hasKey $section $key) }}
{{- $_ := set $section $key (merge (dict) $value (index $section $key)) }}
{{- else }}
{{- $_ := set $section $key $value }}
{{- end }}
{{- end }}
{{- toJson $section }}
{{- end }}

{{/* Puts the keys of one map into another: a list of the map that gets them, its key for them or "", and the keys. */}}
{{- define "pinledger.put" -}}
{{- $target := index . 0 }}
{{- $key := index . 1 }}
{{- $given := index . 2 | default dict }}
{{- if and $key $given (not (index $target $key)) }}
{{- $_ := set $target $key dict }}
{{- end }}
{{- range $name, $value := $given }}
{{- if $key }}
{{- $_ := set (index $target $key) $name $value }}
{{- else }}
{{- $_ := set $target $name $value }}
{{- end }}
{{- end }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "pinledger.labels" -}}
{{- range $entry := (.Files.Get "manifests/common/kustomization.yaml" | fromYaml).labels }}
{{- toYaml $entry.pairs }}
{{- end }}
{{- end }}

{{/* Puts the values into an object. */}}
{{- define "pinledger.adjust" -}}
{{- $root := index . 0 }}
{{- $object := index . 1 }}
{{- $spec := $object.spec }}
{{- $_ := set $object.metadata "namespace" $root.Release.Namespace }}
{{- include "pinledger.put" (list $object.metadata "labels" (include "pinledger.labels" $root | fromYaml)) }}
{{- if eq $object.kind "StatefulSet" }}
{{- $section := include "pinledger.section" . | fromJson }}
{{- $_ := set $spec "replicas" $section.replicas }}
{{- include "pinledger.pod" (list $root $section $spec.template) }}
{{- range $claim := $spec.volumeClaimTemplates }}
{{- include "pinledger.claim" (list $claim.spec $section.storage) }}
{{- end }}
{{- else if eq $object.kind "Job" }}
{{- include "pinledger.pod" (list $root (include "pinledger.section" . | fromJson) $spec.template) }}
{{- $hook := dict "helm.sh/hook" "pre-install,pre-upgrade" "helm.sh/hook-delete-policy" "before-hook-creation" }}
{{- include "pinledger.put" (list $object.metadata "annotations" $hook) }}
{{- else if eq $object.kind "CronJob" }}
{{- $section := include "pinledger.section" . | fromJson }}
{{- include "pinledger.put" (list $spec "" (pick $section "schedule" "timeZone")) }}
{{- include "pinledger.pod" (list $root $section $spec.jobTemplate.spec.template) }}
{{- else if eq $object.kind "PersistentVolumeClaim" }}
{{- include "pinledger.claim" (list $spec (include "pinledger.section" . | fromJson).storage) }}
{{- /* The reports outlive the release: each is a state that the next one has to continue. */}}
{{- include "pinledger.put" (list $object.metadata "annotations" (dict "helm.sh/resource-policy" "keep")) }}
{{- else if eq $object.kind "PodDisruptionBudget" }}
{{- $_ := set $spec "maxUnavailable" (include "pinledger.section" . | fromJson).disruptionBudget.maxUnavailable }}
{{- else if eq $object.kind "Service" }}
{{- $given := index $root.Values.services $object.metadata.name | default dict }}
{{- include "pinledger.put" (list $object.metadata "labels" $given.labels) }}
{{- include "pinledger.put" (list $object.metadata "annotations" $given.annotations) }}
{{- include "pinledger.put" (list $spec "" (omit $given "labels" "annotations")) }}
{{- else if eq $object.kind "NetworkPolicy" }}
{{- include "pinledger.policy" . }}
{{- else if eq $object.kind "PodMonitor" }}
{{- include "pinledger.put" (list $object.metadata "labels" $root.Values.monitoring.podMonitors.labels) }}
{{- range $endpoint := $spec.podMetricsEndpoints }}
{{- include "pinledger.rename" (list $root $endpoint.tlsConfig.ca.secret "name") }}
{{- end }}
{{- else if eq $object.kind "PrometheusRule" }}
{{- include "pinledger.put" (list $object.metadata "labels" $root.Values.monitoring.rules.labels) }}
{{- end }}
{{- end }}

{{/* Puts size and class into a claim: a list of its spec and the values. */}}
{{- define "pinledger.claim" -}}
{{- $spec := index . 0 }}
{{- $storage := index . 1 }}
{{- $_ := set $spec.resources.requests "storage" $storage.size }}
{{- if $storage.class }}
{{- $_ := set $spec "storageClassName" $storage.class }}
{{- end }}
{{- end }}
