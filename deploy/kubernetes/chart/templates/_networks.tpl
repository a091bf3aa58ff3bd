{{/* Puts the values into a network policy: a list of the root and the object. */}}
{{- define "pinledger.policy" -}}
{{- $given := (index . 0).Values.networkPolicies }}
{{- $name := (index . 1).metadata.name }}
{{- $spec := (index . 1).spec }}
{{- $peers := index $given.peers $name }}
{{- $ports := index $given.ports $name }}
{{- $isEgress := hasKey $spec "egress" }}
{{- $key := $isEgress | ternary "to" "from" }}
{{- /* A first rule of two is about pods of the namespace. */}}
{{- with $isEgress | ternary $spec.egress $spec.ingress }}
{{- $rule := last . }}
{{- if $peers }}
{{- if has $name (list "clients" "database" "public-services" "upstream") }}
{{- $_ := set $rule $key $peers }}
{{- else }}
{{- $_ := set $rule $key (concat (index $rule $key) $peers) }}
{{- end }}
{{- end }}
{{- if $ports }}
{{- $numbers := list }}
{{- range $port := $ports }}
{{- $numbers = append $numbers (dict "protocol" "TCP" "port" $port) }}
{{- end }}
{{- $_ := set $rule "ports" $numbers }}
{{- end }}
{{- end }}
{{- end }}

{{/* A range of addresses as network policies write it. */}}
{{- define "pinledger.cidr" -}}
{{- if contains "/" . }}{{ . }}{{ else if contains ":" . }}{{ . }}/128{{ else }}{{ . }}/32{{ end }}
{{- end }}
